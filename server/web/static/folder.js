// Files and folders of a person: what was dropped, and a folder as one archive.

import { gettext } from "./texts.js";

// Returns the files of a drop, with their paths.
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const files = [...transfer.files];
  const found = [];
  for (const [index, entry] of entries.entries()) {
    if (entry?.isDirectory) found.push(...await below(entry));
    else if (files[index]) found.push({ path: files[index].name, file: files[index] });
  }
  return found;
}

async function below(folder) {
  const reader = folder.createReader();
  const found = [];
  for (;;) {  // each call returns some of the entries
    const some = await new Promise((done, fail) => { reader.readEntries(done, fail); });
    if (!some.length) return found;
    for (const entry of some) {
      if (entry.isDirectory) found.push(...await below(entry));
      else {
        const file = await new Promise((done, fail) => { entry.file(done, fail); });
        found.push({ path: entry.fullPath.slice(1), file });
      }
    }
  }
}

// Returns the name and the content of what is handed in: one file as it is, more as a tar archive.
export async function packed(found) {
  if (!found.length) throw new Error(gettext("choose a file or a folder"));
  if (found.length === 1 && !found[0].path.includes("/")) {
    return { name: found[0].file.name, body: found[0].file };
  }
  const kept = found.filter(({ path }) => !/(^|\/)(\.|node_modules\/|__pycache__\/)/.test(path));
  const parts = [];
  for (const { path, file } of kept) {
    parts.push(head(path, file.size), file, new Uint8Array(-file.size & 511));
  }
  parts.push(new Uint8Array(1024));
  return { name: `${found[0].path.split("/")[0].slice(0, 60)}.tar`, body: new Blob(parts) };
}

// Returns the header of a file in a tar archive (POSIX ustar): executable, as browsers do not tell.
function head(path, size) {
  const block = new Uint8Array(512);
  const write = (text, place) => block.set(new TextEncoder().encode(text), place);
  const octal = (number, digits) => `${number.toString(8).padStart(digits, "0")}\0`;
  const bytes = new TextEncoder().encode(path);
  const cut = bytes.length <= 100 ? -1 : bytes.indexOf(47, bytes.length - 101);
  if (bytes.length > 100 && (cut < 0 || cut > 155)) throw new Error(gettext("%(path)s is too long", { path }));
  block.set(bytes.subarray(cut + 1), 0);
  if (cut >= 0) block.set(bytes.subarray(0, cut), 345);
  write(octal(0o755, 7), 100);
  write(octal(0, 7), 108);
  write(octal(0, 7), 116);
  write(octal(size, 11), 124);
  write(octal(0, 11), 136);
  write("        0", 148);
  write("ustar\x0000", 257);
  write(octal(block.reduce((sum, each) => sum + each), 6), 148);
  return block;
}
