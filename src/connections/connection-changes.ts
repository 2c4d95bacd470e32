import { Injectable } from '@nestjs/common';

type Listener = (connectionId: string) => void;

/** Announces, within this process, the connections that it has just written, so that caches drop them. */
@Injectable()
export class ConnectionChanges {
  private readonly listeners: Listener[] = [];

  onChange(listener: Listener): void {
    this.listeners.push(listener);
  }

  changed(connectionId: string): void {
    for (const listener of this.listeners) listener(connectionId);
  }
}
