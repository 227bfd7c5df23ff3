// The builder of a sequence. Each part listens on `document`, so what is swapped in works at once.
import "./builder/saving.js";
import "./builder/conflict.js";
import "./builder/marks.js";
import "./builder/keys.js";
import "./builder/dragging.js";
import "./builder/palette.js";
import "./builder/testing.js";
