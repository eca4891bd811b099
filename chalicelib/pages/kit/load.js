// Data from the service for a view. It is loaded when the view or its filters change, and on request.
import { useCallback, useEffect, useRef, useState } from "./view.js";

// `wanted` names the data. For a new name, new data is loaded, and an answer for an old name is ignored.
export function useLoaded(load, wanted) {
  const [state, setState] = useState({ wanted: null });
  const latest = useRef(0);

  // Quietly: the view shows neither that it loads nor a failure, but the data that it has.
  const reload = useCallback(async ({ isQuiet } = {}) => {
    const number = ++latest.current;
    const show = (next) => number === latest.current && setState((before) => ({ ...(next(before)), wanted }));
    if (!isQuiet) setState((before) => ({ ...before, isLoading: true }));
    try {
      const data = await load();
      show(() => ({ data }));
    } catch (error) {
      show((before) => (isQuiet && before.wanted === wanted && before.data ? { data: before.data } : { error }));
    }
  }, [wanted]);

  useEffect(() => {
    reload();
    return () => { latest.current += 1; };
  }, [reload]);

  return state.wanted === wanted ? { ...state, reload } : { isLoading: true, reload };
}
