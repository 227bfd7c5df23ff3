// Where the keyboard is in the builder, and that it is there again once the form came anew.
import { atPlace, form, placeOf } from "./form.js";

// The field that has the keyboard, and what is selected in it; null outside the form.
export function keyboard() {
  const { activeElement: field } = document;
  const place = placeOf(field);
  return place && { place, start: field.selectionStart, end: field.selectionEnd };
}

// The server says where it goes by `autofocus`, unless a person took it elsewhere meanwhile;
// otherwise it stays where it was last. `before` is from the request's begin, `last` from its end.
export function takeBack(before, last) {
  const moved = last && JSON.stringify(last.place) !== JSON.stringify(before?.place);
  const told = moved ? null : form().querySelector("[autofocus]");
  const was = last ?? before;
  const field = told ?? atPlace(was?.place);
  if (!field) return;
  if (field !== document.activeElement) {
    const target = field.disabled ? field.closest("[data-step]")?.querySelector("summary") : field;
    target?.focus({ preventScroll: !told });
    target?.scrollIntoView({ block: "nearest" });
  }
  if (!told && was.start != null && field.selectionStart != null) field.setSelectionRange(was.start, was.end);
}
