// Every behaviour listens on `document`, so what htmx swaps in works without being set up.
import "./composer.js";
import "./copy.js";
import "./dialog.js";
import "./dismiss.js";
import "./filter-list.js";
import "./menu.js";
import "./palette.js";
import "./request-errors.js";
import "./sliders.js";
import "./ticks.js";
