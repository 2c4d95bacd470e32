import { RequestExchange } from '../exchange/request-exchange.service.js';

/** The way of every request, with `OpeningSender` at its end. */
export class OpeningRequests extends RequestExchange {}
