// Data from the service for a view. It is loaded when the view or its filters change, and on request.
import { useCallback, useLayoutEffect, useRef, useState } from "./view.js";

// `wanted` names the data. For a new name, new data is loaded, and an answer for an old name is ignored.
export function useLoaded(load, wanted) {
  const [state, setState] = useState({ wanted: null });
  const latest = useRef(0);
  const now = useRef(null);
  now.current = { load, wanted }; // a late reload is for these, not for those of its beginning

  // Quietly: the view shows neither that it loads nor a failure, but the data that it has.
  const reload = useCallback(async ({ isQuiet } = {}) => {
    const number = ++latest.current;
    const asked = now.current;
    const show = (next) =>
      number === latest.current && setState((before) => ({ ...next(before), wanted: asked.wanted }));
    if (!isQuiet) setState((before) => ({ ...before, isLoading: true }));
    try {
      const data = await asked.load();
      show(() => ({ data }));
    } catch (error) {
      show((before) => (isQuiet && before.wanted === asked.wanted && before.data ? { data: before.data } : { error }));
    }
  }, []);

  useLayoutEffect(() => {
    reload();
    return () => {
      latest.current += 1;
    };
  }, [wanted]);

  return state.wanted === wanted ? { ...state, reload } : { isLoading: true, reload };
}

// Read, and again when one of `names` changes, and show the result. A failure shows nothing, nor does a result after a later
// read or after the end of the view.
export function useRead(read, show, names) {
  useLayoutEffect(() => {
    let isShown = true;
    read().then(
      (found) => isShown && show(found),
      () => {},
    );
    return () => {
      isShown = false;
    };
  }, names);
}
