import { Page } from '../../ui/page.js';

export function ThreadView() {
  return <Page title="Thread">{null}</Page>;
}
