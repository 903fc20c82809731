// Updates a list in place. Children whose item stays are not replaced, so that they keep the focus.

/**
 * Show one child of `container` for each of `items` (pairs of key and item), in their order. Each
 * child has its key in `data-ATTRIBUTE`. `make(item)` creates a child; `update(child, item)` is
 * called for every child.
 */
export function updateKeyedList(container, attribute, items, make, update = () => {}) {
  const known = new Map([...container.children].map((child) => [child.dataset[attribute], child]));
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
