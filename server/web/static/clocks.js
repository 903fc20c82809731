// Computes clocks between the server's messages. Uses no element of a page.
//
// A clockState is the time that a player has left, {main_s, periods, delay_s}; a timeControl is the
// time that a clock starts with, {main_s, increment_s, periods, period_s, delay_s}. The delays are
// missing if they are 0. See "Clocks" in docs/protocol.md.

import { gettext, numberText } from "./texts.js";

const LOW_S = 10, DAY_S = 86_400;

/** The clockState after a clock has run for `elapsed` seconds more. */
export function clockAfter(clockState, timeControl, elapsed) {
  const { main_s, delay_s = 0 } = clockState;
  const used = Math.max(0, elapsed - delay_s);
  const delay = delay_s ? { delay_s: Math.max(0, delay_s - elapsed) } : {};
  if (used <= main_s) return { ...clockState, ...delay, main_s: main_s - used };
  const left = Math.max(0, main_s + clockState.periods * timeControl.period_s - used);
  const periods = timeControl.period_s ? Math.floor(left / timeControl.period_s) : 0;
  return { main_s: left - periods * timeControl.period_s, periods };
}

/** The text of a clockState: {time: "1:05", periods: "3 × 30 s", low}. */
export function formatClock(clockState, timeControl) {
  let { main_s: seconds, periods } = clockState;
  if (seconds <= 0 && periods > 0) {
    seconds = timeControl.period_s;
    periods -= 1;
  }
  let rest = periods > 0 ? gettext("%(count)s × %(seconds)s s", { count: periods, seconds: timeControl.period_s }) : "";
  if (clockState.delay_s > 0) rest = `+ ${numberText(Math.ceil(clockState.delay_s))} s`;
  return { time: formatSeconds(seconds), periods: rest, low: seconds < LOW_S && periods === 0 };
}

/** Does a timeControl give a day or more at the start, so that nobody has to stay connected? */
export function isCorrespondence({ main_s, periods, period_s }) {
  return main_s + periods * period_s >= DAY_S;
}

/** 9.4, 0:10, 1:05, 1:00:00, 2 d 3 h. Shows tenths below ten seconds. */
export function formatSeconds(seconds) {
  if (seconds >= DAY_S) return daysText(seconds);
  if (seconds < LOW_S) return numberText(Math.floor(seconds * 10) / 10, 1);
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  const start = hours ? `${hours}:${two(minutes)}` : String(minutes);
  return `${start}:${two(whole % 60)}`;
}

function daysText(seconds) {
  const [days, hours] = [Math.floor(seconds / DAY_S), Math.floor((seconds % DAY_S) / 3600)];
  return gettext("%(days)s d %(hours)s h", { days, hours });
}

/** Both players' clocks, from the last message of the server. `now` is in seconds of any one clock. */
export class Clocks {
  #timeControls;
  #clockStates = null;
  #running = 0;
  #since = 0;

  /** From both players' timeControls, null without clocks. */
  constructor(timeControls) {
    this.#timeControls = timeControls;
  }

  /** Set both clockStates, and the seat whose clock runs, 0 for none. */
  set(clockStates, running, now) {
    this.#clockStates = clockStates;
    this.#running = running;
    this.#since = now;
  }

  /** Both clockStates at the time `now`, null without clocks. */
  at(now) {
    if (!this.#clockStates || !this.#timeControls) return null;
    const elapsed = (seat) => (seat === this.#running ? now - this.#since : 0);
    return this.#clockStates.map((clockState, at) => clockAfter(clockState, this.#timeControls[at], elapsed(at + 1)));
  }

  /** The seconds that `seat` has left in all. */
  left(seat, now) {
    const { main_s, periods, delay_s = 0 } = this.at(now)[seat - 1];
    return delay_s + main_s + periods * this.#timeControls[seat - 1].period_s;
  }

  /** The text of the clock of `seat`, as from formatClock; null without clocks. */
  show(seat, now) {
    const clockStates = this.at(now);
    return clockStates && formatClock(clockStates[seat - 1], this.#timeControls[seat - 1]);
  }
}
