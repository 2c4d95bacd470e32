import { writeFile } from 'node:fs/promises';
import { errorReference, configurationPage, environmentExample } from './reference.js';

// npm runs this in the project's folder; the build that it is part of can be anywhere below.
await writeFile('docs/api/errors.md', errorReference());
await writeFile('docs/configuration.md', configurationPage());
await writeFile('.env.example', environmentExample());
