import { Type } from 'typebox';
import { formatAmount, multiply, parseAmount } from '../lib/money.ts';
import {
  AMOUNT_PATTERN,
  amount,
  choice,
  currency,
  date,
  FieldError,
  LINE,
  list,
  type Resource,
  reference,
  text,
  type Values,
} from './resource.ts';

const ID = '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c';

const ITEM_INPUT = {
  sku: Type.String({
    description: 'The article number.',
    pattern: LINE,
    minLength: 1,
    maxLength: 80,
    examples: ['HB-1KG'],
  }),
  description: Type.String({
    description: 'What was ordered.',
    pattern: LINE,
    minLength: 1,
    maxLength: 500,
    examples: ['House blend, 1 kg'],
  }),
  quantity: Type.String({ description: 'A decimal.', pattern: '^\\d{1,9}(\\.\\d{1,4})?$', examples: ['2'] }),
  unitPrice: Type.String({ pattern: '^\\d{1,15}(\\.\\d{1,4})?$', description: 'With tax.', examples: ['9.00'] }),
};
const ITEM = Type.Object({
  ...ITEM_INPUT,
  amount: Type.String({ description: 'Quantity times unit price.', pattern: AMOUNT_PATTERN, examples: ['18.00'] }),
});

export const orders: Resource = {
  name: 'order',
  plural: 'orders',
  title: 'Order',
  description: 'An order in the online shop, and the state of its fulfilment.',
  path: '/api/v1/ecommerce/orders',
  table: 'orders',
  scopes: { read: 'read:orders' },
  fields: {
    number: text('The order number. The next number of the business if left out.', {
      max: 80,
      nullable: false,
      example: '#1042',
    }),
    status: choice(['PLACED', 'PAID', 'FULFILLED', 'CANCELLED', 'REFUNDED'], 'The status of the order.', {
      initial: 'PLACED',
    }),
    fulfilmentStatus: choice(['UNFULFILLED', 'PACKED', 'SHIPPED', 'DELIVERED'], 'The status of the fulfilment.', {
      initial: 'UNFULFILLED',
    }),
    total: amount('What the customer pays.', { computed: true }),
    currency: currency(),
    customerId: reference('contact', 'The contact who ordered.'),
    orderedOn: date('When it was ordered.', { required: true }),
    shippedOn: date('When it was handed to the carrier.'),
    carrier: text('The carrier.', { max: 80, example: 'Royal Mail' }),
    trackingNumber: text('The tracking number of the carrier.', { max: 80, example: 'RM123456785GB' }),
    items: list(ITEM, 'What was ordered.', {
      required: true,
      input: Type.Array(Type.Object(ITEM_INPUT, { additionalProperties: false }), {
        minItems: 1,
        maxItems: 200,
        description: 'What was ordered.',
      }),
    }),
  },
  filters: ['status', 'fulfilmentStatus'],
  sorts: ['orderedOn'],
  unique: 'number',
  numbered: '#',
  transitions: {},
  compute,
  eventFields: ['number', 'status', 'fulfilmentStatus', 'total', 'currency'],
  example: {
    number: '#1042',
    status: 'PAID',
    fulfilmentStatus: 'SHIPPED',
    total: '18.00',
    currency: 'GBP',
    customerId: ID,
    orderedOn: '2026-07-03',
    shippedOn: '2026-07-04',
    carrier: 'Royal Mail',
    trackingNumber: 'RM123456785GB',
    items: [{ sku: 'HB-1KG', description: 'House blend, 1 kg', quantity: '2', unitPrice: '9.00', amount: '18.00' }],
  },
};

interface Item {
  quantity: string;
  unitPrice: string;
}

function compute(order: Values): Values {
  const code = String(order.currency);
  let total = 0n;
  const items = (order.items as Item[]).map((item, index) => {
    const price = parseAmount(item.unitPrice, code);
    if (price === undefined) throw new FieldError(`items[${index}].unitPrice`, `has more decimals than ${code} has`);
    const sum = multiply(price, item.quantity);
    total += sum;
    return { ...item, amount: formatAmount(sum, code) };
  });
  return { items, total: formatAmount(total, code) };
}
