import { writeFile } from 'node:fs/promises';
import { errorReference } from './error-reference.js';

await writeFile(new URL('../../docs/errors.md', import.meta.url), errorReference());
