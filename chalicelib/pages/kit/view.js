// The parts of the libraries that the modules use. Components are functions; their HTML is a template of htm. Each effect
// runs with its change (useLayoutEffect). After the next frame the person may already be at another field or address.
import { h, render } from "preact";
import { useCallback, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);
export { render, useCallback, useId, useLayoutEffect, useMemo, useRef, useState };
