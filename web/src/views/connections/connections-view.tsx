import { Page } from '../../ui/page.js';

export function ConnectionsView() {
  return <Page title="Connections">{null}</Page>;
}
