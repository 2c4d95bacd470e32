import { settingForms } from '../../src/api/docs/settings-reference.js';

/** The name of every setting: of each variable that `readSettings` reads. Sorted. */
export function settingNames(): string[] {
  return [...settingForms().keys()].toSorted();
}
