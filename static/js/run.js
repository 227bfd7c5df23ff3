// The page of a run.
import { follow } from "./live.js";

follow("#run");
