import { settingForms } from '../../src/api/docs/reference.js';

/** The name of every setting: of each variable that `readSettings` reads. Sorted. */
export function settingNames(): string[] {
  return [...settingForms().keys()].toSorted();
}
