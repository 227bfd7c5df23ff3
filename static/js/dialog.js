// <button data-dialog="id"> opens that <dialog>; forms with method="dialog" close it by themselves.
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-dialog]");
  if (opener) {
    event.preventDefault();
    document.getElementById(opener.dataset.dialog)?.showModal();
    return;
  }
  // A press on the backdrop reaches the dialog itself, never one of its children.
  if (event.target.matches("dialog[data-light-dismiss]") && isOutside(event)) event.target.close();
});

function isOutside({ target, clientX, clientY }) {
  const box = target.getBoundingClientRect();
  return clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom;
}
