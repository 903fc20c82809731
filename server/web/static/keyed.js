// Lists that change while somebody reads them: what stays is not touched, so that it keeps the focus.

/** Show one child for each item, in their order. Children are known by `data-ATTRIBUTE`. */
export function showList(container, attribute, items, make, update = () => {}) {
  const known = new Map([...container.children].map((each) => [each.dataset[attribute], each]));
  const left = new Set(container.children);
  let next = container.firstElementChild;
  for (const [key, item] of items) {
    const element = known.get(key) ?? make(item);
    element.dataset[attribute] = key;
    left.delete(element);
    update(element, item);
    if (element === next) next = next.nextElementSibling;
    else container.insertBefore(element, next);
  }
  for (const element of left) element.remove();
}
