/** The values from which the records of a demo business are generated. */
export interface DemoBusiness {
  /** The prefix of its invoice numbers. */
  prefix: string;
  currency: string;
  country: string;
  taxRate: string;
  perMonth: { invoices: number; expenses: number; orders: number };
  companies: readonly string[];
  people: readonly string[];
  products: readonly { sku: string; description: string; unitPrice: string; quantity: number }[];
  deals: readonly string[];
  staff: readonly { name: string; jobTitle: string; department: string; employmentType?: string }[];
  /** What its employees claim, by category. */
  expenses: readonly { category: string; code: string; claims: readonly string[]; from: number }[];
  carrier: string;
}

export const HARBOUR: DemoBusiness = {
  prefix: 'HC',
  currency: 'GBP',
  country: 'GB',
  taxRate: '20',
  perMonth: { invoices: 11, expenses: 9, orders: 16 },
  companies: [
    'Northwind Traders',
    'The Corner Bakery',
    'Saltmarsh Hotel',
    'Quayside Books',
    'Ferry Lane Deli',
    'Millrace Brewery',
    'Lantern Cinema',
    'Oak & Iron Workspace',
    'Beacon Hill School',
    'Tidal Yoga',
    'Gull Street Kitchen',
    'Pier Nine Studios',
  ],
  people: [
    'Mara Lindqvist',
    'Theo Abbott',
    'Grace Osei',
    'Callum Reid',
    'Nadia Rahman',
    'Finn Gallagher',
    'Imogen Clarke',
    'Ravi Menon',
    'Esther Boateng',
    'Lewis Hart',
    'Yasmin Haddad',
    'Owen Pritchard',
    'Freya Sinclair',
    'Marcus Bell',
    'Lucia Ferrari',
    'Dylan Moss',
    'Amara Eze',
    'Hugh Wentworth',
    'Sofia Marin',
    'Toby Lock',
  ],
  products: [
    { sku: 'HB-1KG', description: 'House blend, 1 kg', unitPrice: '18.50', quantity: 12 },
    { sku: 'ES-1KG', description: 'Espresso roast, 1 kg', unitPrice: '21.00', quantity: 8 },
    { sku: 'DC-500', description: 'Decaf, 500 g', unitPrice: '11.25', quantity: 6 },
    { sku: 'CB-24', description: 'Cold brew, 24 bottles', unitPrice: '42.00', quantity: 4 },
    { sku: 'SV-01', description: 'Espresso machine service', unitPrice: '95.00', quantity: 1 },
    { sku: 'TR-01', description: 'Barista training, half a day', unitPrice: '240.00', quantity: 1 },
  ],
  deals: ['Espresso machines for', 'Monthly beans for', 'Office coffee for', 'Wedding cart for', 'Training day for'],
  staff: [
    { name: 'Olivia Marsh', jobTitle: 'Managing director', department: 'Management' },
    { name: 'Sam Okafor', jobTitle: 'Bookkeeper', department: 'Finance' },
    { name: 'Jonas Weber', jobTitle: 'Head roaster', department: 'Production' },
    { name: 'Kit Lawson', jobTitle: 'Roaster', department: 'Production' },
    { name: 'Bea Novak', jobTitle: 'Account manager', department: 'Sales' },
    { name: 'Ali Demir', jobTitle: 'Driver', department: 'Delivery', employmentType: 'PART_TIME' },
    { name: 'Robin Shaw', jobTitle: 'Machine technician', department: 'Service', employmentType: 'CONTRACTOR' },
  ],
  expenses: [
    { category: 'Travel', code: '7400', claims: ['Train to Leeds', 'Parking at the market'], from: 14 },
    { category: 'Vehicle', code: '7300', claims: ['Diesel for the van', 'Van wash'], from: 38 },
    { category: 'Supplies', code: '5000', claims: ['Paper cups', 'Labels for bags'], from: 52 },
    { category: 'Meals', code: '7402', claims: ['Lunch with a customer'], from: 31 },
  ],
  carrier: 'Royal Mail',
};

export const NORTHGATE: DemoBusiness = {
  prefix: 'NS',
  currency: 'EUR',
  country: 'DE',
  taxRate: '19',
  perMonth: { invoices: 6, expenses: 6, orders: 4 },
  companies: [
    'Contoso Logistik',
    'Alpenblick Reisen',
    'Hafen Nord Reederei',
    'Studio Vier',
    'Brunnen Apotheke',
    'Kranich Energie',
    'Lindenhof Kliniken',
    'Morgenrot Verlag',
  ],
  people: [
    'Anke Sommer',
    'Bastian Roth',
    'Carla Neumann',
    'Deniz Yilmaz',
    'Elif Kaya',
    'Felix Brandt',
    'Greta Vogel',
    'Henrik Lund',
    'Ines Moreau',
    'Jan Kowalski',
    'Katja Berger',
    'Luca Conti',
  ],
  products: [
    { sku: 'LIC-10', description: 'Licence, 10 seats, one month', unitPrice: '190.00', quantity: 1 },
    { sku: 'LIC-50', description: 'Licence, 50 seats, one month', unitPrice: '790.00', quantity: 1 },
    { sku: 'SUP-H', description: 'Support, per hour', unitPrice: '110.00', quantity: 6 },
    { sku: 'DEV-D', description: 'Development, per day', unitPrice: '880.00', quantity: 3 },
    { sku: 'KEY-5', description: 'Security keys, five', unitPrice: '245.00', quantity: 1 },
  ],
  deals: ['Roll-out for', 'Support contract for', 'Integration for', 'Pilot for'],
  staff: [
    { name: 'Priya Nair', jobTitle: 'Founder', department: 'Management' },
    { name: 'Milan Horvat', jobTitle: 'Lead engineer', department: 'Engineering' },
    { name: 'Tessa de Wit', jobTitle: 'Engineer', department: 'Engineering' },
    { name: 'Noah Fischer', jobTitle: 'Support engineer', department: 'Support', employmentType: 'PART_TIME' },
    { name: 'Clara Stein', jobTitle: 'Sales manager', department: 'Sales' },
  ],
  expenses: [
    { category: 'Travel', code: '6650', claims: ['Train to Hamburg', 'Hotel in Munich'], from: 89 },
    { category: 'Software', code: '6837', claims: ['Test devices', 'Design tool'], from: 45 },
    { category: 'Meals', code: '6640', claims: ['Dinner with a customer'], from: 64 },
  ],
  carrier: 'DHL',
};
