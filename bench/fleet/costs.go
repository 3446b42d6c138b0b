package main

// costs are what the model is made of. Each was measured; docs/scaling.md has where. Those with the name of a figure are
// taken from docs/benchmarks.md by `make figures`.
type costs struct {
	// Bytes of rows and of their indexes, by bench/fleet/measure.
	deliveryRows, deliveryIndexes float64 // a delivery of 2 KB that starts nothing
	runRows, runIndexes           float64 // a run that has ended, with a log of 10 events and a small workspace
	// What one core of everything together (server, PostgreSQL and what sends) does in a second.
	acceptsPerCore float64 // deliveries that start nothing
	startsPerCore  float64 // deliveries that start a run
	endsPerCore    float64 // runs from the queue to their end
	// Cores of the servers for 1,000 workers that wait; 200 were measured.
	coresPerIdleThousand float64
}

func measured() costs {
	return costs{
		deliveryRows: 2575, deliveryIndexes: 330,
		runRows: 9_191, runIndexes: 5_866,
		acceptsPerCore:       6976 / 2.0, // figure: B1 ingress, 256 connections, postgres
		startsPerCore:        3730 / 2.0, // figure: B2 ingress that starts runs, 256 connections, postgres
		endsPerCore:          969 / 2.0,  // figure: B6 queue, 32 slots, postgres
		coresPerIdleThousand: 2.95 * .05, // figure: B12 200 workers, idle: part of a core, postgres
	}
}

// machine is a database server that one can rent.
type machine struct {
	cores  float64
	memory float64 // bytes
	disk   float64 // bytes
}

func rented() machine { return machine{cores: 32, memory: 256e9, disk: 15e12} }

// load is what is asked of the fleet.
type load struct {
	seed       uint64
	perSecond  float64 // deliveries, on average
	startShare float64 // of them, that start a run
	workers    int
	slots      int     // of each worker
	runSeconds float64 // on average
	keepDays   float64 // --delivery-retention
	runs       float64 // how many there shall be in the end
}

func asked() load {
	return load{
		seed: 1, perSecond: 10_000, startShare: 0.01, workers: 1_000, slots: 8, runSeconds: 60, keepDays: 7, runs: 1e9,
	}
}
