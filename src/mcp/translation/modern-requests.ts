import { RequestForwarder } from '../forwarding/request-forwarder.js';

/** The way of every request, with `ModernSender` at its end. */
export class ModernRequests extends RequestForwarder {}
