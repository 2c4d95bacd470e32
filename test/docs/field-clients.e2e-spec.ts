import { expect, it } from '@jest/globals';
import { readRows } from '../field/field-table.js';
import { readManifest } from '../field/installed-client.js';

it('docs/conformance.md has the clients of test/field/clients.json, in their versions', async () => {
  const documented = (await readRows()).map(([name = '', version]) => ({ name: name.replaceAll('`', ''), version }));
  expect(documented).toHaveLength((await readManifest()).length);
  expect(documented).toEqual(expect.arrayContaining(await readManifest()));
});
