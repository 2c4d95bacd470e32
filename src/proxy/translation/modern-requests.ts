import { RequestExchange } from '../exchange/request-exchange.service.js';

/** The way of every request, with `ModernSender` at its end. */
export class ModernRequests extends RequestExchange {}
