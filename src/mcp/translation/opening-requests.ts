import { RequestForwarder } from '../forwarding/request-forwarder.js';

/** The way of every request, with `InitializeNegotiator` at its end. */
export class OpeningRequests extends RequestForwarder {}
