package eval

// What conversations with planted facts are made of.

const instruction = "You are a helpful assistant who takes care of a household's many affairs. Answer in a few sentences."

// things are what facts of a kind are about, each the thing of an owner.
var things = map[string][]string{
	"number": {"meter reading", "door code", "locker number", "member number", "alarm code", "seat count"},
	"id":     {"booking reference", "serial number", "order number", "licence key", "claim number", "tracking code"},
	"date":   {"inspection date", "renewal date", "delivery date", "opening day", "deadline", "departure date"},
	"amount": {"deposit", "yearly fee", "repair estimate", "insurance premium", "outstanding balance", "budget"},
	"path":   {"backup folder", "export file", "floor plan file", "invoice scan", "photo archive", "settings file"},
	"handle": {"contact address", "billing address", "support mailbox", "newsletter address", "booking mailbox", "caretaker's e-mail"},
	"name":   {"nickname", "code word", "network name", "team name", "paint colour", "project title"},
}

var owners = []string{
	"the lake house", "the Lisbon trip", "the bakery order", "the garden shed", "the choir tour", "the night train",
	"the ceramics class", "the delivery van", "the reading club", "the attic conversion", "the bike workshop",
	"the harvest market", "the language course", "the old boiler", "the sailing weekend", "the school play",
}

var statements = []string{
	"By the way, %s is %s.",
	"Please note that %s is %s.",
	"I have checked again, and %s is %s, not what I said last year.",
	"They have just told me that %s is now %s.",
	"For later: %s, in case somebody asks, is %s.",
}

var requests = []string{"Could you settle %s for me?", "I leave %s to you. What do you suggest?", "Please arrange %s and tell me."}

var settled = []string{"Done: %s is %s.", "I have arranged %s, and it is %s.", "I have put down %s as %s."}

var questions = []string{
	"What is %s?",
	"Can you tell me %s again?",
	"I have forgotten %s. What was it?",
	"Someone asks me for %s. What do I tell them?",
}

var acknowledgements = []string{"I have noted that.", "Thank you, that is written down.", "Understood, I will keep it in mind.", "Good to know."}

// smallTalk names what facts are about.
var smallTalk = []string{
	"I still have to think about {owner}.",
	"We can speak about {owner} another time.",
	"Somebody asked me about the {thing} the other day, but that can wait.",
	"Remind me one day to look for the {thing} of {owner}.",
	"I was busy with {owner} all morning.",
	"Nothing new about {owner}, as far as I know.",
}

var preferenceStatements = []string{
	"When it comes to %s, I prefer %s.",
	"You should know that for %s I like %s best.",
	"About %s: I always want %s.",
}

var preferenceQuestions = []string{
	"What do I prefer when it comes to %s?",
	"What do I like best for %s?",
	"Do you remember what I want about %s?",
}

var preferences = []struct {
	topic  string
	values []string
}{
	{"coffee in the morning", []string{"oat milk without sugar", "a double espresso"}},
	{"seats on a plane", []string{"the aisle near the front", "a window behind the wing"}},
	{"hotel rooms", []string{"a high floor facing the yard", "a room far from the lift"}},
	{"phone calls", []string{"never before noon", "only after office hours"}},
	{"birthday presents", []string{"something handmade", "vouchers for concerts"}},
	{"the temperature of the bedroom", []string{"rather cold with open windows", "warm and dry"}},
	{"written reports", []string{"bullet lists on a single page", "full prose with footnotes"}},
	{"pizza toppings", []string{"artichokes and capers", "extra olives"}},
	{"the colour of curtains", []string{"plain linen grey", "deep bottle green"}},
	{"walks on Sunday", []string{"along the canal", "up to the old quarry"}},
	{"music while working", []string{"quiet piano trios", "nothing with vocals"}},
	{"paying bills", []string{"by direct debit", "by transfer on the first"}},
	{"taxis", []string{"electric ones only", "the rank by the station"}},
	{"desserts", []string{"lemon tart", "stewed plums"}},
	{"the newspaper", []string{"the weekend edition only", "the printed one on weekdays"}},
	{"ironing shirts", []string{"no starch at all", "folded rather than hung"}},
	{"meetings", []string{"standing up and short", "mornings with an agenda"}},
	{"watering the orchids", []string{"rainwater every ten days", "a bath each fortnight"}},
	{"gift wrapping", []string{"brown paper with twine", "cloth instead of paper"}},
	{"museum visits", []string{"late openings on Thursdays", "without an audio guide"}},
}

var months = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

var adjectives = []string{"Amber", "Silver", "Quiet", "Northern", "Velvet", "Crooked", "Golden", "Hidden", "Merry", "Rapid", "Solemn", "Wandering"}

var nouns = []string{"heron", "lantern", "harbour", "meadow", "orchard", "pebble", "juniper", "walnut", "falcon", "thistle", "beacon", "copper", "willow", "ember", "marble", "cedar"}

// domain is something that people talk about. In its sentences "_" stands for
// one of its words.
type domain struct{ user, agent, words []string }

var domains = []domain{
	{
		user: []string{
			"How long should I roast _ in the oven, and does it need to be covered?",
			"I have too much _ left over from yesterday. Any idea what I could cook with it?",
			"My guests do not eat _. What would you serve in its place?",
		},
		agent: []string{
			"With _ the heat matters more than the time, so start hot and turn it down after a while.",
			"A little _ goes well with it, and it keeps for some days in a closed box.",
			"You can prepare the _ the evening before, which leaves you free when people arrive.",
			"Taste it before you add salt, as _ brings enough of its own.",
			"If it looks dry, a spoon of stock helps more than butter would.",
		},
		words: []string{"fennel", "lentils", "cod", "aubergine", "rice", "pumpkin", "barley", "leek"},
	},
	{
		user: []string{
			"The leaves of my _ are turning yellow. Is that a matter of water or of light?",
			"When is the right time to cut back the _?",
			"Slugs have eaten the _ again. What can I do without poison?",
		},
		agent: []string{
			"Yellow leaves on _ mostly mean that the roots stand too wet.",
			"Cut it after it has flowered, as _ sets its buds for the next year in summer.",
			"A ring of grit around the _ keeps most of them away, and so does watering in the morning.",
			"Give it compost in spring, and leave it alone for the rest of the year.",
			"If you move the _ to the other side of the path it gets more sun.",
		},
		words: []string{"hydrangea", "lavender", "rhubarb", "clematis", "lettuce", "rosemary", "fern", "quince"},
	},
	{
		user: []string{
			"Is it better to see _ in spring or in autumn?",
			"How would you get from _ to the coast without a car?",
			"Which district of _ is good for a quiet stay?",
		},
		agent: []string{
			"In _ spring is mild and the museums are empty, which speaks for it.",
			"There is a regional line from _ that runs every hour, and the bus meets it.",
			"The streets behind the cathedral are calm at night, and everything is in walking distance.",
			"Book early if you want to stay in _ over a holiday.",
			"Take good shoes, since the old town is steep.",
		},
		words: []string{"Ghent", "Porto", "Trieste", "Bergen", "Girona", "Riga", "Turin", "Lucerne"},
	},
	{
		user: []string{
			"My program prints the wrong result when the _ is empty. Where would you look?",
			"Do you think I should write tests for the _ first?",
			"What is a good name for a function that goes through the _ twice?",
		},
		agent: []string{
			"Look at the loop over the _ first, because an empty one never enters it.",
			"Tests for the _ pay off soon, as it is what changes most often.",
			"A name should say what comes out, not how often the _ is read.",
			"You could log each step for once and compare that with what you expect.",
			"If the _ is shared, make sure that only one part of the program writes to it.",
		},
		words: []string{"queue", "parser", "cache", "index", "buffer", "scheduler", "logger", "tree"},
	},
	{
		user: []string{
			"I would like to play the _ again after many years. How do I begin?",
			"Could you recommend a piece for _ that is not too hard?",
			"My neighbours complain about the _. What is a fair time to practise?",
		},
		agent: []string{
			"Begin with a quarter of an hour a day, since fingers on the _ need habit more than strength.",
			"There are easy sonatas for _ that sound much harder than they are.",
			"Late afternoon is fair to everybody, and a rug under the _ takes away a lot.",
			"Record yourself from time to time, because one hears more from the outside.",
			"A teacher for the _ is worth it for the first month at least.",
		},
		words: []string{"cello", "clarinet", "piano", "viola", "accordion", "guitar", "flute", "harp"},
	},
	{
		user: []string{
			"The _ squeaks whenever somebody touches it. Can I repair that myself?",
			"Would you paint the _ before or after the floor is done?",
			"How do I find out whether the _ is worth repairing?",
		},
		agent: []string{
			"A drop of oil is enough for most squeaks, but look at the screws of the _ first.",
			"Paint the _ before the floor, then nothing drips on what is new.",
			"If the frame of the _ is sound, the rest can be replaced piece by piece.",
			"Sand it lightly between two coats, and let it dry overnight.",
			"Have somebody hold the _ while you loosen it, for it is heavier than it looks.",
		},
		words: []string{"gate", "cupboard", "staircase", "window frame", "bench", "railing", "shutter", "drawer"},
	},
}
