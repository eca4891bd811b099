// Whether the browser keeps anything for the page. Where cookies are blocked, each use of its storages throws.
export const canStore = (() => {
  try {
    return [localStorage, sessionStorage].every((storage) => storage.getItem("") !== undefined);
  } catch {
    return false;
  }
})();
