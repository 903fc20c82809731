// Notices through the push service of the browser, while no page is open: switched on and off.

const WORKER = "/static/worker.js";

/** Show the switch `box` if the server and the browser can send such notices to this person. */
export class PushSwitch {
  #box;
  #fault;
  #connection;
  #key = null;

  /** `fault` is the place for errors. */
  constructor(box, fault, connection) {
    this.#box = box;
    this.#fault = fault;
    this.#connection = connection;
    box.addEventListener("change", () => this.#change());
  }

  /** Handle a `welcome`: the subscription of this browser becomes that of the account. */
  async welcome({ push_key: key, guest }) {
    this.#key = key ?? null;
    this.#box.closest("label").hidden = !key || guest || !("PushManager" in window);
    if (this.#box.closest("label").hidden) return;
    const worker = await navigator.serviceWorker.getRegistration("/");
    const subscription = await worker?.pushManager.getSubscription();
    this.#box.checked = Boolean(subscription);
    if (subscription) this.#send(subscription);
  }

  async #change() {
    this.#fault.textContent = "";
    try {
      if (this.#box.checked) await this.#subscribe();
      else await this.#unsubscribe();
    } catch (error) {
      this.#box.checked = !this.#box.checked;
      this.#fault.textContent = error.message;
    }
  }

  async #subscribe() {
    await navigator.serviceWorker.register(WORKER, { scope: "/" });
    const { pushManager } = await navigator.serviceWorker.ready;
    const options = { userVisibleOnly: true, applicationServerKey: this.#key };
    await this.#send(await pushManager.subscribe(options));
  }

  async #unsubscribe() {
    const worker = await navigator.serviceWorker.getRegistration("/");
    const subscription = await worker?.pushManager.getSubscription();
    if (!subscription) return;
    await this.#connection.request({ type: "unsubscribe_push", endpoint: subscription.endpoint });
    await subscription.unsubscribe();
  }

  #send(subscription) {
    const { endpoint, keys } = subscription.toJSON();
    const language = document.documentElement.lang;
    return this.#connection.request({ type: "subscribe_push", endpoint, ...keys, language });
  }
}
