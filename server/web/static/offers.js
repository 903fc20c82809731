// Draws, takebacks and abort: the buttons of a person who plays, and what the opponent offers.

import { closedOfferText, offerText } from "./match_text.js";
import { gettext } from "./texts.js";

/** The texts of the button for each offer: to make it, and to withdraw it. */
const LABELS = {
  draw: [gettext("Offer a draw"), gettext("Withdraw the draw")],
  takeback: [gettext("Take back"), gettext("Withdraw takeback")],
};

export class OfferButtons {
  #part;
  #record;
  #request;
  #announce;
  /** How the last offer was closed, until the next move. */
  #outcome = "";

  /** `part(id)` returns an element of the page, `request(message)` sends one for the match, and
   * `announce(text)` tells a screen reader. */
  constructor(part, record, request, announce) {
    this.#part = part;
    this.#record = record;
    this.#request = request;
    this.#announce = announce;
    for (const kind of Object.keys(LABELS)) {
      part(kind).addEventListener("click", () => this.#offerOrWithdraw(kind));
    }
    part("abort").addEventListener("click", () => request({ type: "abort" }));
    part("offer-accept").addEventListener("click", () => this.#answer(true));
    part("offer-decline").addEventListener("click", () => this.#answer(false));
  }

  /** Handle an event of the match. */
  receive(event) {
    if (event.type === "update" || event.type === "taken_back") this.#outcome = "";
    else if (event.type === "offered") this.#announce(offerText(event, this.#record));
    else if (event.type === "offer_closed") this.#close(closedOfferText(event, this.#record));
  }

  /** Show what may be done now; `isConnected`: whether requests can be sent. */
  show(isConnected) {
    const record = this.#record;
    const mayOffer = record.seat !== null && !record.over && !record.isAssigned && isConnected;
    for (const [kind, [offer, withdraw]] of Object.entries(LABELS)) {
      const button = this.#part(kind);
      const isOpen = record.ownOffer?.offer === kind;
      button.hidden = !mayOffer || (kind === "takeback" && record.rated);
      button.textContent = isOpen ? withdraw : offer;
      // Not `disabled`: the button would lose the focus.
      button.setAttribute("aria-disabled", !isOpen && record.whyNotOffered(kind) !== null);
    }
    this.#part("abort").hidden = !mayOffer || !record.mayAbort;
    const { opponentsOffer, ownOffer, over } = record;
    this.#setNote(ownOffer && !over ? offerText(ownOffer, record) : this.#outcome);
    this.#showOffer(opponentsOffer && isConnected && !over ? offerText(opponentsOffer, record) : "");
  }

  #offerOrWithdraw(kind) {
    const record = this.#record;
    const fault = record.whyNotOffered(kind);
    if (record.ownOffer?.offer === kind) this.#request({ type: "withdraw_offer" });
    else if (fault === null) this.#request({ type: "offer", offer: kind, ply: record.last });
    else this.#close(fault);
  }

  #answer(accept) {
    const { offer, ply } = this.#record.opponentsOffer;
    this.#request({ type: "answer_offer", offer, ply, accept });
  }

  #close(text) {
    this.#outcome = text;
    this.#setNote(text);
    this.#announce(text);
  }

  #setNote(text) {
    const element = this.#part("offer-note");
    if (element.textContent !== text) element.textContent = text;
  }

  /** Show the opponent's offer, "" for none, with its answers. */
  #showOffer(text) {
    const offer = this.#part("offers");
    const hadFocus = offer.contains(document.activeElement);
    this.#part("offer-text").textContent = text;
    offer.hidden = !text;
    // For the keyboard, which goes on from there.
    if (hadFocus && !text) this.#part(this.#record.over ? "rematch-play" : "draw").focus({ preventScroll: true });
  }
}
