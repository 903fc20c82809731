// Creates elements of pages and of drawings. Text is never parsed as markup.

/** A new SVG element with these attributes and children. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** A new HTML element with these attributes and children; a child may be a text. */
export function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}
