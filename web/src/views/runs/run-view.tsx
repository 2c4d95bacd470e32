import { Page } from '../../ui/page.js';

export function RunView() {
  return <Page title="Run">{null}</Page>;
}
