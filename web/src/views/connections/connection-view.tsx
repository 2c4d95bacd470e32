import { Page } from '../../ui/page.js';

export function ConnectionView() {
  return <Page title="Connection">{null}</Page>;
}
