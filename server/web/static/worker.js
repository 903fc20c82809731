// The service worker: shows notices of the server while no page is open, and opens their pages.

addEventListener("push", (event) => {
  const { text, game, opponent, path } = event.data.json();
  const body = `${game}, ${opponent}`;
  event.waitUntil(self.registration.showNotification(text, { body, tag: path, icon: "/static/favicon.svg", data: path }));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data));
});
