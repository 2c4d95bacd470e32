import type { ListItem } from '../../../../packages/client/src/api.js';

/** A key as the service lists it, without its value. */
export type Key = ListItem<'API_KEY_LIST'>;
