import { it } from '@jest/globals';
import { checkIsolation } from './check-isolation.js';

it('is alone', checkIsolation);
