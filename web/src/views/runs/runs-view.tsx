import { Page } from '../../ui/page.js';

export function RunsView() {
  return <Page title="Runs">{null}</Page>;
}
