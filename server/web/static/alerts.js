// Sounds, and notices while the page is hidden. Both are choices, which the browser keeps.

import { read, write } from "./storage.js";
import { gettext } from "./texts.js";

const KEYS = { sounds: "sounds", notices: "notices" };
/** The tones of each sound: frequency in Hz, start and length in seconds. */
const SOUNDS = {
  move: [[520, 0, 0.06]],
  capture: [[520, 0, 0.05], [350, 0.05, 0.07]],
  offer: [[660, 0, 0.1], [880, 0.12, 0.1]],
  end: [[660, 0, 0.12], [520, 0.14, 0.12], [390, 0.28, 0.2]],
};
const VOLUME = 0.08;

export class Alerts {
  #sounds;
  #notices;
  #fault;
  #audio = null;
  #notice = null;

  /** `sounds` and `notices` are checkboxes; `fault` says why there are no notices. */
  constructor({ sounds, notices, fault }) {
    this.#sounds = sounds;
    this.#notices = notices;
    this.#fault = fault;
    sounds.checked = read(KEYS.sounds) !== "off";
    notices.checked = read(KEYS.notices) === "on" && allowed() === "granted";
    sounds.addEventListener("change", () => this.#chooseSounds());
    notices.addEventListener("change", () => this.#chooseNotices());
    document.addEventListener("visibilitychange", () => document.hidden || this.#notice?.close());
  }

  /** Play a sound: `"move"`, `"capture"`, `"offer"` or `"end"`. */
  play(name) {
    if (!this.#sounds.checked) return;
    try {
      this.#audio ??= new AudioContext();
      this.#audio.resume();
      for (const tone of SOUNDS[name]) this.#playTone(...tone);
    } catch {
      // No sound, where the browser has none.
    }
  }

  /** Show a notice if the page is hidden; it replaces the last one. */
  notify(title, text) {
    if (!document.hidden || !this.#notices.checked) return;
    this.#notice?.close();
    this.#notice = new Notification(title, { body: text });
    this.#notice.onclick = () => {
      window.focus();
      this.#notice.close();
    };
  }

  #playTone(frequency, start, length) {
    const from = this.#audio.currentTime + start;
    const [tone, volume] = [this.#audio.createOscillator(), this.#audio.createGain()];
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(VOLUME, from);
    volume.gain.exponentialRampToValueAtTime(0.001, from + length);
    tone.connect(volume).connect(this.#audio.destination);
    tone.start(from);
    tone.stop(from + length);
  }

  #chooseSounds() {
    write(KEYS.sounds, this.#sounds.checked ? "on" : "off");
    this.play("move");
  }

  async #chooseNotices() {
    this.#fault.textContent = "";
    if (this.#notices.checked && allowed() === "default") await Notification.requestPermission();
    if (this.#notices.checked && allowed() !== "granted") {
      this.#notices.checked = false;
      this.#fault.textContent = gettext("Your browser does not allow this page to show notices.");
    }
    write(KEYS.notices, this.#notices.checked ? "on" : "off");
  }
}

/** Whether the page may show notices: `"granted"`, `"denied"`, or `"default"` before it has asked. */
function allowed() {
  return globalThis.Notification?.permission ?? "denied";
}
