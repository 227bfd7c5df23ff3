// A stream that broke off is taken up where it was. The browser does so by itself (Last-Event-ID)
// while it may retry; once it has given up, because something answered in the server's place,
// htmx opens the address anew: it must name the last event, or parts would be shown twice.
document.addEventListener("htmx:sseBeforeMessage", ({ target, detail }) => {
  const stream = target.closest("[sse-connect]");
  if (!stream || !detail.lastEventId) return;
  const address = new URL(stream.getAttribute("sse-connect"), location.href);
  address.searchParams.set("after", detail.lastEventId);
  stream.setAttribute("sse-connect", address.pathname + address.search);
});
