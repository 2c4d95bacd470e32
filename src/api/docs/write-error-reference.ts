import { writeFile } from 'node:fs/promises';
import { errorReference } from './error-reference.js';

// npm runs this in the project's folder; the build that it is part of can be anywhere below.
await writeFile('docs/errors.md', errorReference());
