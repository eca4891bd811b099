// The end of a part of the page.
import { useCallback, useLayoutEffect, useRef } from "./view.js";

// A function that says whether this part of the page is gone: an answer that comes then leads nowhere.
export function useIsLeft() {
  const isLeft = useRef(false);
  useLayoutEffect(
    () => () => {
      isLeft.current = true;
    },
    [],
  );
  return useCallback(() => isLeft.current, []);
}
