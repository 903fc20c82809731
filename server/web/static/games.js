// The pages of games.

import { drawPositions } from "./positions.js";

drawPositions(document);
