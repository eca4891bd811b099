// The language of a page: a chosen one, else the first of the browser's that the page has, else English.
const PLACE = "payments.language";

const browsers = (language) => navigator.languages.find((tag) => tag.slice(0, 2) === language);

export function chosen(languages) {
  const wanted = [localStorage.getItem(PLACE), ...navigator.languages.map((tag) => tag.slice(0, 2))];
  const language = wanted.find((code) => Object.hasOwn(languages, code)) ?? "en";
  document.documentElement.lang = language;
  return language;
}

// For dates: the person's own form of the language, such as en-ZA.
export const localeOf = (language) => browsers(language) ?? language;

// The page is loaded again in the chosen language.
export function choose(language) {
  localStorage.setItem(PLACE, language);
  location.reload();
}
