// The parts of the libraries that the modules use. Components are functions; their HTML is a template of htm. Each effect
// runs with its change (useLayoutEffect). After the next frame the person may already be at another field or address.
import { h, render } from "../libraries/preact.mjs";
import { useCallback, useId, useLayoutEffect, useMemo, useRef, useState } from "../libraries/hooks.mjs";
import htm from "../libraries/htm.mjs";

export const html = htm.bind(h);
export { render, useCallback, useId, useLayoutEffect, useMemo, useRef, useState };
