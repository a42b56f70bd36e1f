// The state of the page in its address, `#head=E3:5&explore=...`, which may begin with an anchor: `#pruning&head=E3:5`.
(() => {
  "use strict";
  const values = new Map();
  const listeners = new Map();
  let anchor = "";

  const plain = (text) => {
    try { return decodeURIComponent(text); } catch { return text; }
  };
  const quoted = (text) => encodeURIComponent(text).replace(/%(3A|2C|2F|40)/g, plain);

  const read = () => {
    const found = new Map();
    let place = "";
    for (const part of location.hash.slice(1).split("&")) {
      const [, key, value] = /^([a-z-]+)=(.*)$/.exec(part) ?? [];
      if (key) found.set(key, plain(value));
      else if (!place) place = plain(part);
    }
    return { found, place };
  };

  // An address that this page wrote is marked, so that the way back to it restores all of it.
  const write = () => {
    const parts = [...values].map(([key, value]) => `${key}=${quoted(value)}`);
    const hash = [...(anchor ? [quoted(anchor)] : []), ...parts].join("&");
    try {
      history.replaceState({ headroom: true }, "", hash ? `#${hash}` : location.pathname + location.search);
    } catch { /* a page without an address of its own keeps its state to itself */ }
  };

  const change = (key, value) => {
    if ((values.get(key) ?? "") === value) return;
    if (value) values.set(key, value); else values.delete(key);
    for (const callback of listeners.get(key) ?? []) callback(value);
  };

  // A link names its target, an anchor or a head; the rest of the state is unchanged.
  const follow = () => {
    const { found, place } = read();
    const gone = history.state?.headroom ? [...values.keys()].filter((key) => !found.has(key)) : [];
    anchor = place || (history.state?.headroom ? "" : anchor);
    for (const key of gone) change(key, "");
    for (const [key, value] of found) change(key, value);
    if (place && found.size) document.getElementById(place)?.scrollIntoView();
    write();
  };

  const first = read();
  anchor = first.place;
  for (const [key, value] of first.found) values.set(key, value);
  if (anchor && values.size) addEventListener("load", () => document.getElementById(anchor)?.scrollIntoView());
  addEventListener("hashchange", follow);

  window.headroom = {
    ...window.headroom,
    state: {
      get: (key) => values.get(key) ?? "",
      set: (key, value) => { change(key, String(value ?? "")); write(); },
      on: (key, callback) => listeners.set(key, [...(listeners.get(key) ?? []), callback]),
    },
  };
})();
