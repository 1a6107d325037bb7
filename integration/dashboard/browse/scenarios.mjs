// Scenarios by the names of the tests.

import { opens, searches, phones } from './lists.mjs';
import { explains, fails, pictures, routes } from './routes.mjs';
import { follows, loses, quarantines } from './changes.mjs';
import { accessible, hostile, keyboards } from './accessibility.mjs';
import { based } from './based.mjs';
import { measures, misses, tails } from './figures.mjs';
import { publishes } from './xds.mjs';
import { injects } from './injector.mjs';
import { obtains } from './certificates.mjs';
import { divides } from './environments.mjs';
import { declares } from './listeners.mjs';
import { streams } from './streams.mjs';

export const scenarios = { opens, searches, phones, explains, fails, routes, follows, loses, quarantines, accessible, hostile, keyboards, based, measures, misses, tails, publishes, injects, divides, obtains, declares, streams, pictures };
