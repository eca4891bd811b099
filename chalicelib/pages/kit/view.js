// The parts of the libraries that the modules use. Components are functions; their HTML is a template of htm.
import { h, render } from "preact";
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);
export { render, useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState };
