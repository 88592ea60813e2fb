// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements. Names, notes and output can contain anything. They cannot become markup, because `h` and `s` make every
// element, and put text only into text nodes and attributes.

import { printable } from './text.js';

export const $ = (id) => document.getElementById(id);

/**
 * Makes an HTML element: `h('li.none', { title: 'x' }, 'text', node)`. Attributes named `on…` are event listeners, and
 * those that are false, null or undefined are left out.
 */
export const h = (tag, ...rest) => make((name) => document.createElement(name), tag, rest);

/** The same for an SVG element. */
export const s = (tag, ...rest) => make((name) => document.createElementNS('http://www.w3.org/2000/svg', name), tag, rest);

function make(create, tag, rest) {
  const [name, ...classes] = tag.split('.');
  const element = create(name);
  if (classes.length) element.setAttribute('class', classes.join(' '));
  const attributes = rest[0]?.constructor === Object ? rest.shift() : {};
  for (const key in attributes) {
    const value = attributes[key];
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, '');
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value);
  }
  for (const child of rest.flat(2)) if (child !== null && child !== undefined) element.append(child);
  return element;
}

export const button = (parts, onclick, attributes) => h('button', { type: 'button', onclick, ...attributes }, parts);

export function icon(name) {
  const use = s('use', { href: `#i-${name}` });
  const picture = s('svg.icon', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, use);
  picture.show = (other) => {
    if (other !== name) use.setAttribute('href', `#i-${name = other}`);
  };
  return picture;
}

/** Sets the text of an element. Most texts are the same as before: then the page is not touched, which saves time. */
export function put(element, text) {
  if (element.lastText !== text) {
    element.lastText = text;
    element.textContent = text;
  }
}

export const flag = (name, isOn) => document.body.classList.toggle(name, isOn);

export const searchField = (label, oninput) => h('input', { type: 'search', placeholder: label, 'aria-label': label, autocomplete: 'off', spellcheck: 'false', oninput });

/** Chooses the option that an address asks for; says it if there is none. */
export function choose(field, value, complain) {
  field.value = value ?? '';
  if (field.selectedIndex >= 0) return;
  field.value = '';
  complain(`The filter “${field.getAttribute('aria-label')}” cannot be “${printable(value)}”; it is left out.`);
}

export const choice = (label, onchange, options) => h('select', { 'aria-label': label, onchange }, options.map(([value, text]) => h('option', { value }, text ?? value)));

/** Sets an attribute, if it changes. */
export function mark(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Text from outside as part of a sentence. <bdi> keeps right-to-left text from reordering the words around it. */
export const quote = (text, attributes) => h('bdi', attributes, printable(text));

export const panel = (title, ...parts) => h('section.panel', h('h2', title), parts);

/** A list of terms and values. Terms without a value are left out. */
export const factList = (facts) => facts.filter(([, value]) => value).flatMap(([term, value, kind]) => [h('dt', term), h('dd', { class: kind }, typeof value === 'string' ? quote(value) : value)]);

export const headRow = (...texts) => h('thead', h('tr', texts.map((text) => h('th', { scope: 'col' }, text))));
