import { Page } from '../../ui/page.js';

export function KeysView() {
  return <Page title="Keys">{null}</Page>;
}
