"""Questions and the memories that answer them, on subjects of their own and with hardly a word in common."""

from __future__ import annotations

PAIRS = (
    ("What does she do for a living?", "Anna works as a paediatric nurse at the city hospital."),
    ("Which pets are in the household?", "Two cats called Miso and Tofu sleep on the sofa all day."),
    ("When is the wedding?", "They are getting married on the third of June in a small chapel."),
    ("Which languages does she speak?", "Besides German, Maria is fluent in Spanish and Portuguese."),
    ("Where did they go on holiday?", "Last summer the family spent two weeks on the beaches of Crete."),
    ("Which instrument is being learned?", "He practises the cello every evening before dinner."),
    ("How do I get to the office?", "I take tram number seven and then walk five minutes to my workplace."),
    ("What broke in the kitchen?", "The dishwasher has been leaking water since Monday."),
    ("Which sport does the daughter play?", "Lena scored two goals for her football team on Saturday."),
    ("What is the budget for the car?", "We cannot spend more than twelve thousand euros on a new vehicle."),
    ("Which programming language does the team use?", "Our backend is written in Python with a little Rust."),
    ("Is he a vegetarian?", "He stopped eating meat and fish three years ago."),
    ("What is the doctor's diagnosis?", "The physician said it is only a mild case of bronchitis."),
    ("Which university did she attend?", "She got her degree in physics from Heidelberg."),
    ("How is the garden doing?", "The tomatoes and roses are blooming after all the rain."),
    ("What book is being read at the moment?", "I am halfway through a novel by Ursula Le Guin."),
    ("Where is the spare key?", "If you are locked out, look under the blue flowerpot."),
    ("Why was the flight late?", "The plane could not take off because of thick fog."),
    ("What does the landlord want?", "The owner of the flat is raising the rent by ten percent."),
    ("What is he afraid of?", "Spiders and the dark have terrified him since childhood."),
)
