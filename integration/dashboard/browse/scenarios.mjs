// What somebody does with the page, by the names of the tests.

import { opens, searches, phones } from './lists.mjs';
import { explains, fails, pictures, ways } from './ways.mjs';
import { follows, loses, quarantines } from './changes.mjs';
import { accessible, hostile, keyboards } from './manners.mjs';
import { based } from './based.mjs';

export const scenarios = { opens, searches, phones, explains, fails, ways, follows, loses, quarantines, accessible, hostile, keyboards, based, pictures };
